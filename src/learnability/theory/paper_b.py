"""Paper B: What Can ResNet Learn Efficiently, Going Beyond Kernels? Its bounds as plain functions.

Every Theta~, O~ of the paper hides a constant and powers of log m; they are arguments here, 1 unless
given, so that the functions say how a bound scales and not what it is. p_f, p_g are terms an output,
c_s_f = C_s(F), c_s_g = C_s(G) (``theory/complexity.py``), b_f bounds ||F(x)||.

What is printed and what is right:
- Theorem 1 has eta_v / eta_w = (p_G C_s(G) / (p_F C_s(F)))^2; its proof (Appendix D.4) uses
  tau_w^2 / eta_w = tau_v^2 / eta_v, which has alpha^2 more, and needs eta_v tau_w^2 <= 0.1, which only the
  latter gives. ``eta_v`` is the proof's, ``eta_v_printed`` the theorem's.
- Fact B.3 bounds ||F(x)|| by sqrt(k) p C_s(F) ||x||, which fails at x = 0: it is ||(x,1)||. Its
  Lipschitz constant drops a factor 3 that its proof has.
- The proof of Theorem 2 asks alpha <= 40 / (d/5)^(k/4) where it uses alpha >= that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


def composite_threshold(k: int, alpha: float, noise: float = 0.0) -> float:
    """k alpha^2 = E||alpha G(F(x))||^2 for parities: the error of learning F alone (Figure 2).

    Label noise of standard deviation ``noise`` per output adds k noise^2 to every method's error.
    """
    return k * (alpha**2 + noise**2)


# Theorem 1: what the three-layer ResNet learns


def alpha_max(k: int, p_g: int, c_s_g: float, constant: float = 1.0) -> float:
    """Largest alpha of Theorem 1: Theta~(1 / (k p_G C_s(G)))."""
    return constant / (k * p_g * c_s_g)


def delta_min(
    alpha: float, k: int, p_g: int, c_s_g: float, b_f: float = 1.0, opt: float = 0.0, constant: float = 1.0
) -> float:
    """Smallest risk of Theorem 1: OPT + Theta~(alpha^4 (k p_G C_s(G))^4 (1 + B_F)^2).

    OPT bounds E[||H - y||^2 / 2], delta E||H - out||^2 without the 1/2. B_F = 1 under Concept 1.
    """
    return opt + constant * (alpha * k * p_g * c_s_g) ** 4 * (1 + b_f) ** 2


def samples(k: int, p_f: int, c_s_f: float, delta: float, constant: float = 1.0) -> float:
    """T = Theta~((k p_F C_s(F))^2 / min{1, delta^2}), one sample a step."""
    return constant * (k * p_f * c_s_f) ** 2 / min(1.0, delta**2)


def eta_w(delta: float, constant: float = 1.0) -> float:
    """eta_w = Theta~(min{1, delta})."""
    return constant * min(1.0, delta)


def eta_v(eta: float, alpha: float, p_f: int, c_s_f: float, p_g: int, c_s_g: float, constant: float = 1.0) -> float:
    """eta_v = eta_w (tau_v / tau_w)^2 = eta_w (alpha p_G C_s(G) / (p_F C_s(F)))^2, as the proof uses it."""
    return eta_v_printed(eta, p_f, c_s_f, p_g, c_s_g, constant) * alpha**2


def eta_v_printed(eta: float, p_f: int, c_s_f: float, p_g: int, c_s_g: float, constant: float = 1.0) -> float:
    """eta_v = eta_w Theta~(p_G C_s(G) / (p_F C_s(F)))^2, as Theorem 1 prints it."""
    return eta * constant * (p_g * c_s_g / (p_f * c_s_f)) ** 2


@dataclass(frozen=True)
class Table1:
    """Parameter choices of Table 1 for width m: initialisation sizes and radii ||W|| <= tau_w, ||V|| <= tau_v."""

    m: float
    k: int
    sigma_w: float
    sigma_v: float
    tau_w: float
    tau_v: float


def table1(
    m: float, k: int, alpha: float, p_f: int, c_s_f: float, p_g: int, c_s_g: float, constant: float = 1.0
) -> Table1:
    """sigma_w = m^-1/8, sigma_v = 1/tau_v^2, tau_w = O~(k p_F C_s(F)), tau_v = O~(alpha k p_G C_s(G))."""
    tau_v = constant * alpha * k * p_g * c_s_g
    return Table1(m, k, m**-0.125, tau_v**-2, constant * k * p_f * c_s_f, tau_v)


def violations(choice: Table1, power: float = 1.0) -> list[str]:
    """The ranges that Table 1 states and ``choice`` is outside of; polylog(m) is (log m)^power.

    The first three are what the table says its choices satisfy, the last two the wider ranges of sigma
    that Theorem 1 allows.
    """
    m, polylog = choice.m, math.log(choice.m) ** power
    lowest = choice.sigma_v * (choice.k / m) ** 0.375
    ranges = {
        "tau_w in [1, sqrt(m) sigma_w)": 1 <= choice.tau_w < math.sqrt(m) * choice.sigma_w,
        "tau_v <= 1/polylog(m)": choice.tau_v <= 1 / polylog,
        "tau_v in [sigma_v (k/m)^3/8, sigma_v/polylog(m)]": lowest <= choice.tau_v <= choice.sigma_v / polylog,
        "sigma_w in [m^-0.49, m^-0.01]": m**-0.49 <= choice.sigma_w <= m**-0.01,
        "sigma_v in [polylog(m), m^0.37]": polylog <= choice.sigma_v <= m**0.37,
    }
    return [name for name, holds in ranges.items() if not holds]


def table1_width(tau_w: float, tau_v: float, k: int) -> float:
    """Width beyond which Table 1's choices satisfy the ranges that are about m alone, not polylog(m):
    tau_w < m^3/8, tau_v >= tau_v^-2 (k/m)^3/8 and tau_v^-2 <= m^0.37."""
    return max(tau_w ** (8 / 3), k * tau_v**-8, tau_v ** (-2 / 0.37))


def norm_bound(k: int, p: int, c_s: float, x_norm: float = 1.0) -> float:
    """Fact B.3 as its proof has it: ||F(x)|| <= sqrt(k) p C_s(F) ||(x,1)||, for any C* >= 1."""
    return math.sqrt(k) * p * c_s * math.hypot(x_norm, 1.0)


def lipschitz_bound(k: int, p: int, c_s: float) -> float:
    """Fact B.3 as its proof has it: F is 3 sqrt(k) p C_s(F)-Lipschitz, for any C* >= 1."""
    return 3 * math.sqrt(k) * p * c_s


# Theorem 2 and Corollary 7.1: F(x) = sqrt(d) (x_i1, ..., x_ik), G(y) = (y_1 ... y_k) on every output


def kernel_samples(d: int, k: int, constant: float = 1.0) -> float:
    """Theorem 2: up to N = O(d^(k/2) / log^k d) samples no correlation kernel learns the family (k >= 4)."""
    return constant * d ** (k / 2) / math.log(d) ** k


def kernel_alpha_min(d: int, k: int, constant: float = 1.0) -> float:
    """Theorem 2: alpha must be in [Omega(d^(-k/4)), 1]."""
    return constant * d ** (-k / 4)


def kernel_risk(alpha: float) -> float:
    """Theorem 2: E||H - K||^2 > alpha^2 / 4. (Not learning the composite at all costs k alpha^2.)"""
    return alpha**2 / 4


def resnet_samples(d: int, alpha: float, constant: float = 1.0) -> float:
    """Corollary 7.1: N = Theta~(d / alpha^8), which is Theorem 1's T with C_s(F) = O(sqrt(d)), delta = alpha^4."""
    return constant * d / alpha**8


def resnet_risk(alpha: float, constant: float = 1.0) -> float:
    """Corollary 7.1: E||H - out||^2 <= O~(alpha^4)."""
    return constant * alpha**4


@dataclass(frozen=True)
class Family:
    """Complexities of Theorem 2's family as a Concept 1 (Appendix E.4); a_g is the |a| of G's terms."""

    p_f: int
    c_s_f: float
    p_g: int
    c_s_g: float
    a_g: float


def parity_family(d: int, k: int, c_star: float) -> Family:
    """Appendix E.4 in numbers, for H / sqrt(k), which has ||F(x)|| = 1.

    F_i(x) = phi(<e_i, x> / sqrt(2)), phi(z) = sqrt(2d/k) z: p_F = 1, C_s(F) = 2 C* sqrt(2d/k) = O(sqrt(d)).
    G_r(z) = a sum_{s in {0,1}^k} (-1)^|s| phi(sum_i (-1)^s_i z_i / sqrt(2k)), a = k^k / (sqrt(k) k! 2^k),
    phi(z) = 2^(k/2) z^k: p_G = 2^k, C_s(G) = C* (k+1) 2^(k/2) = O(1) in d. E.4 takes directions of norm
    1, Concept 1 has 1/sqrt(2), hence the 2^(k/2). a <= 1 only up to k = 10: beyond, it belongs into phi.
    """
    a = k**k / (math.sqrt(k) * math.factorial(k) * 2**k)
    c_s_g = c_star * (k + 1) * 2 ** (k / 2) * max(1.0, a)
    return Family(1, 2 * c_star * math.sqrt(2 * d / k), 2**k, c_s_g, min(1.0, a))


# Appendix A.1: x -> a^T relu(W x), a in {-1/sqrt(m), 1/sqrt(m)}^m, ||x|| = 1


def rademacher_rows(row_norms: Iterable[float], n: int) -> float:
    """(2 / sqrt(m)) sum_j ||W_j|| / sqrt(N), for all W with sum_j ||W_j|| at most this sum."""
    norms = list(row_norms)
    return 2 * sum(norms) / math.sqrt(len(norms) * n)


def rademacher_frobenius(norm: float, n: int) -> float:
    """2 ||W||_F / sqrt(N) >= ``rademacher_rows``, as sum_j ||W_j|| <= sqrt(m) ||W||_F (Cauchy-Schwarz)."""
    return 2 * norm / math.sqrt(n)


def generalisation_gap(
    rademacher: float, n: int, clip: float = 1.0, label: float = 1.0, failure: float = 0.01
) -> float:
    """Two-sided: |population - training error| of (clip(f) - y)^2, all f of the class, w.p. 1 - failure.

        2 L R_N + M sqrt(log(2 / failure) / (2 N)),   L = 2 (clip + label),  M = (clip + label)^2

    Outputs are clipped to [-clip, clip] and |y| <= label, where the squared loss is L-Lipschitz in f
    (contraction: R_N of the losses is at most L R_N) and at most M (bounded differences, each side with
    failure / 2). Clipping at clip >= label only lowers the error; the unclipped error is not bounded.
    """
    lipschitz, most = 2 * (clip + label), (clip + label) ** 2
    return 2 * lipschitz * rademacher + most * math.sqrt(math.log(2 / failure) / (2 * n))
