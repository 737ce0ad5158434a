"""Paper B: What Can ResNet Learn Efficiently, Going Beyond Kernels?"""


def composite_threshold(k: int, alpha: float) -> float:
    """k alpha^2: E||alpha G(F(x))||^2 for parities, the error of learning F alone (Figure 2)."""
    return k * alpha**2
