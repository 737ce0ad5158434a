"""Paper B: What Can ResNet Learn Efficiently, Going Beyond Kernels?"""


def composite_threshold(k: int, alpha: float, noise: float = 0.0) -> float:
    """k alpha^2 = E||alpha G(F(x))||^2 for parities: the error of learning F alone (Figure 2).

    Label noise of standard deviation ``noise`` per output adds k noise^2 to every method's error.
    """
    return k * (alpha**2 + noise**2)
