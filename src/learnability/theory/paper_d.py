"""Paper D: When Does Gradient Descent with Logistic Loss Interpolate ...? Its bounds as plain functions.

Theorem 3.1 with (3a)-(3c), what its proof gives at (7), Lemmas 4.1-4.5 with (I2), (I3), Theorem 3.3 with (4), (5)
and Lemma D.8, Proposition C.1. J_1 < n^-(1+24L) is below 2e-12 and 10^-1000 is ordinary, so losses, gradients,
steps, rates and times are natural logs (``log_loss`` = log J); h, norms (||V||, Frobenius, over all layers), rho
and tau are plain. Numbers or numpy arrays, which broadcast. Constants that the paper leaves free are arguments.

What is printed and what is right (in the text this project has, which may have misprints of its own):
- (3b): the second term is never the least. J(V) >= log(1 + exp(-(||V|| / sqrt(L+1))^(L+1))) (Lemma B.5) makes it
  at least 128 p ||V||^(3L+3) / h times the first. The proof of Theorem 3.3 gives other reasons for the same.
- Lemmas 4.2, 4.4 have sqrt(p), (3b) and (I3) p: the larger one, which Lemma 4.7 needs (Lemma 4.3 squared). The last
  display of Lemma 4.8 has sqrt(p) where (10) and (I3) have p, and alpha <= alpha_max gives p.
- (7) drops log^(2-2/L)(1/J_t) at (ii). Up to (i) the proof says more than Theorem 3.1, see ``proof_decay``.
- Lemma 4.1: L + 1/alpha is L + 1/2 (Appendix B.3). (8), second line: ||grad J_t||^2 in the denominator is
  ||grad J_t||. (34), first '=': '>='.
- Lemma B.6(1) needs ||V||^2 >= L^L / (L-1)^(L-1), as (a/k)^(k/2) is largest near k = a/e, not at the end; Lemma
  B.5 grants that up to L = 12 (n = 3). Otherwise only B.6(2): L^-3 for L^(L/2-3) in (3a). B.7, alike, is used as
  ||V||^(L+1) only, which is right. In Lemma B.17 (i), 3L+5 is 6L+10.
- (4): sqrt(p gamma) is sqrt(p) gamma, as in Assumption 3.2 and Lemma D.9. What follows (4) in the proof of Theorem
  3.3 holds by e^z >= 1 + z; the reason given, e^z <= 1 + 2z, points the other way.
- (5) is too large for the proof: h_NT <= L^(L/2-3) (1+24L) log n / (24 sqrt(p) sqrt(6pL)^L) needs 6^(3/2) >= 24,
  but 6^(3/2) = 14.7. With 4 sqrt(6) = 9.8 for (5)'s leading 6 it holds, and the 50 of the rate becomes 70.
- Part 2 of that proof: the third line of Q~ drops log^(2/L)(1/J_{T+1}) >= 1, so its '=' is '>='. The rest is right.
- Theorem 3.3 asks p >= r / gamma^2, but tau <= c / ((p log p)^(3/8) L^(15/4)) with tau = Theta(1 / (sqrt(p) gamma))
  needs p >= (... / gamma)^8 log^3 p (``needed_width``); so omega < 1/8, not 1/2, in the paragraph after it.
- Proposition C.1 asks h <= sqrt(pi) / (2p), where h_NT = 25 log(n) / (36 p) (L = 1): both only at n = 3.
- (36), (37): mu.(x_s - mu) <= 0, so the lower bounds need |mu.(x_s - mu)|. After (42): 'exists' is 'for all'.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

Number = float | np.ndarray
LN10 = math.log(10)
CLUSTERED_MARGIN = 1 / 32  # c of Proposition C.1 from (a) and (b) as printed: (3/4 - 1/2) / 8
# c with the sets' own sizes: |S+| = |S-| = P(1/2 <= |N(0,1)| <= 2) p / 2 as p grows, so c = sqrt(P) / 8 = 0.0945
CLUSTERED_MARGIN_LIMIT = math.sqrt(math.erf(math.sqrt(2)) - math.erf(math.sqrt(1 / 8))) / 8


class Sides(NamedTuple):
    """Natural logs of both sides of an inequality lesser <= greater."""

    lesser: Number
    greater: Number

    @property
    def slack(self) -> Number:
        """log(greater / lesser), negative where the inequality fails."""
        return self.greater - self.lesser


def _log_log(log_loss: Number) -> Number:
    """log log(1/J); -inf where J >= 1, so that h_max is 0 there and a lower bound says nothing."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(-np.asarray(log_loss, dtype=float), 0.0))


# Theorem 3.1


def log_threshold(n: Number, L: Number) -> Number:
    """log of 1 / n^(1+24L), which J_1 must be below."""
    return -(1 + 24 * L) * np.log(n)


def h_max(L: Number, p: Number, norm: Number, log_loss: Number) -> Number:
    """(3a): min{L^(L/2-3) log(1/J_1) / (24 sqrt(p) ||V^(1)||^L), 1}, which h must be below."""
    first = (L / 2 - 3) * np.log(L) + _log_log(log_loss) - math.log(24) - np.log(p) / 2 - L * np.log(norm)
    return np.exp(np.minimum(first, 0.0))


def log_alpha_max_terms(h: Number, L: Number, p: Number, norm: Number, log_loss: Number) -> tuple[Number, Number]:
    """(3b)'s two terms, V = V^(1): h / (1024 (L+1)^2 p J_1 ||V||^(3L+5)) and
    (L+1/2) ||V||^2 / (2L (L+3/4)^2 J_1 log^(2/L)(1/J_1)), in logs."""
    second = np.log(L + 0.5) + 2 * np.log(norm) - np.log(2 * L) - 2 * np.log(L + 0.75)
    return _log_step(h, L, np.log(p), norm) - log_loss, second - log_loss - 2 / L * _log_log(log_loss)


def log_alpha_max(h: Number, L: Number, p: Number, norm: Number, log_loss: Number) -> Number:
    """(3b): log alpha_max(h), the lesser of its two terms."""
    return np.minimum(*log_alpha_max_terms(h, L, p, norm, log_loss))


def log_q_tilde(log_alpha: Number, L: Number, norm: Number, log_loss: Number) -> Number:
    """(3c): log of L (L+3/4)^2 alpha J_1 log^(2/L)(1/J_1) / ((L+1/2) ||V^(1)||^2); 1/2 alpha over (3b)'s second."""
    top = np.log(L) + 2 * np.log(L + 0.75) + log_alpha + log_loss + 2 / L * _log_log(log_loss)
    return top - np.log(L + 0.5) - 2 * np.log(norm)


def log_bound(log_loss_1: Number, log_q: Number, log_elapsed: Number) -> Number:
    """Theorem 3.1 and (I1): log of J_1 / (Q (t-1) + 1); log_elapsed = log(t-1), -inf at t = 1."""
    return log_loss_1 - np.logaddexp(0.0, log_q + log_elapsed)


def log_decrease_7(log_alpha: Number, L: Number, norm_1: Number, log_loss_1: Number, log_loss: Number) -> Number:
    """(7)(i): log of (Q~ / J_1) J_t^2 log^(2-2/L)(1/J_t), by which the loss falls at step t at least."""
    rate = log_q_tilde(log_alpha, L, norm_1, log_loss_1) - log_loss_1
    return rate + 2 * log_loss + (2 - 2 / L) * _log_log(log_loss)


def proof_decay(s: Number, L: Number, log_loss_1: Number, log_q: Number) -> Number:
    """log(t-1) by which (7)(i) has brought the loss to J_1 e^-s, for Q = e^log_q <= Q~ and J_1 <= 1/e.

        dJ/dt = -(Q/J_1) J^2 log^(2-2/L)(1/J),   t - 1 = (1/Q) int_0^s e^u / (log(1/J_1) + u)^(2-2/L) du

    so J ~ 1 / (t log^(2-2/L) t): Theorem 3.1's 1/t at L = 1, faster beyond. For J_1 <= e^-2 this bounds J_t itself:
    the speed of log(1/J) is below 1 by (I3) and only falls, and a step of (7)(i) keeps the speed it starts with.
    Gauss-Legendre in v = s - u, where the integrand is e^s e^-v / (...), over v <= 80: e^-80 is beyond rounding.
    """
    s, L, log_loss_1, log_q = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (s, L, log_loss_1, log_q)))
    if np.any(log_loss_1 > -1) or np.any(s < 0):
        raise ValueError("proof_decay needs J_1 <= 1/e, where log^(2-2/L)(1/J) >= 1, and s >= 0")
    nodes, weights = np.polynomial.legendre.leggauss(16)
    panels = (np.arange(80)[:, None] + (nodes + 1) / 2).ravel() / 80  # 80 panels, none wider than 1
    reach = np.minimum(s, 80.0)[..., None]
    v = reach * panels
    inside = np.exp(-v) * (s[..., None] - v - log_loss_1[..., None]) ** (2 / L - 2)[..., None]
    with np.errstate(divide="ignore"):
        return s - log_q + np.log((inside * reach * np.tile(weights / 160, 80)).sum(-1))


# Lemmas of Section 4. Where one side is measured on a network, the function is the paper's side of it


def _log_step(h: Number, L: Number, log_width: Number, norm: Number) -> Number:
    """log of h / (1024 (L+1)^2 w ||V||^(3L+5)), w = p in (3b) and (I3), sqrt(p) in Lemma 4.4."""
    return np.log(h) - math.log(1024) - 2 * np.log(L + 1) - log_width - (3 * L + 5) * np.log(norm)


def norm_min(L: Number) -> Number:
    """sqrt(L + 1/2), which ||V|| must reach in Lemmas 4.2 and 4.3."""
    return np.sqrt(L + 0.5)


def lemma_4_1(L: Number, log_lip: Number) -> Number:
    """log of 1 / ((L+1/2) M), the largest alpha if Lip(grad J) <= M = e^log_lip on the way."""
    return -np.log(L + 0.5) - log_lip


def lemma_4_2(h: Number, L: Number, p: Number, norm: Number, log_loss: Number) -> Number:
    """Lip(grad J(V)) is at most, in logs: 256 (L+1) sqrt(p) ||V||^(3L+5) J(V) / h, if h <= 1."""
    return math.log(256) + np.log(L + 1) + np.log(p) / 2 + (3 * L + 5) * np.log(norm) + log_loss - np.log(h)


def lemma_4_3(L: Number, p: Number, norm: Number, log_loss: Number) -> Number:
    """||grad J(V)|| is at most, in logs: sqrt((L+1) p) ||V||^(L+1) min{J(V), 1}."""
    return (np.log(L + 1) + np.log(p)) / 2 + (L + 1) * np.log(norm) + np.minimum(log_loss, 0.0)


def lemma_4_4(log_alpha: Number, h: Number, L: Number, p: Number, norm: Number, log_loss: Number) -> Sides:
    """The step condition: alpha J_t <= h / (1024 (L+1)^2 sqrt(p) ||V^(t)||^(3L+5))."""
    return Sides(log_alpha + log_loss, _log_step(h, L, np.log(p) / 2, norm))


def lemma_4_4_decrease(log_alpha: Number, L: Number, log_grad: Number) -> Number:
    """J_t - J_{t+1} is at least, in logs: alpha L ||grad J_t||^2 / (L+1/2). Lemma 4.1's as well."""
    return log_alpha + np.log(L) + 2 * log_grad - np.log(L + 0.5)


def log_decrease(log_loss: Number, log_loss_next: Number) -> Number:
    """log(J_t - J_{t+1}) from the logs of both, -inf if the loss did not fall. Steps of less than 1e-16 of J_t
    are lost in a float's log J: they must be measured otherwise."""
    with np.errstate(divide="ignore"):
        return log_loss + np.log(np.maximum(-np.expm1(np.asarray(log_loss_next) - log_loss), 0.0))


def lemma_4_5_hypothesis(L: Number, norm: Number, log_loss: Number, norm_1: Number, log_loss_1: Number) -> Sides:
    """||V^(t)||^L <= log(1/J_t) ||V^(1)||^L / log(1/J_1)."""
    return Sides(L * np.log(norm), _log_log(log_loss) + L * np.log(norm_1) - _log_log(log_loss_1))


def lemma_4_5(L: Number, norm: Number, log_loss: Number) -> Number:
    """(6): ||grad J_t|| is at least, in logs: (L+3/4) J_t log(1/J_t) / ||V^(t)||."""
    return np.log(L + 0.75) + log_loss + _log_log(log_loss) - np.log(norm)


def i2(L: Number, norm: Number, log_loss: Number, norm_1: Number, log_loss_1: Number) -> Sides:
    """(I2): log(1/J_1) / ||V^(1)||^L <= log(1/J_t) / ||V^(t)||^L, which is Lemma 4.5's hypothesis."""
    return Sides(_log_log(log_loss_1) - L * np.log(norm_1), _log_log(log_loss) - L * np.log(norm))


def i3(log_alpha: Number, h: Number, L: Number, p: Number, norm: Number, log_loss: Number) -> Sides:
    """(I3): alpha J_t <= h / (1024 (L+1)^2 p ||V^(t)||^(3L+5))."""
    return Sides(log_alpha + log_loss, _log_step(h, L, np.log(p), norm))


def lemma_b_5(L: Number, norm: Number) -> Number:
    """The least loss of weights of this norm, in logs: log(1 + exp(-m)), m = (||V|| / sqrt(L+1))^(L+1)."""
    m = np.exp((L + 1) * (np.log(norm) - np.log(L + 1) / 2))
    e = np.maximum(np.exp(-m), 1e-20)  # log1p(e) = e to rounding from there on
    return -m + np.log(np.log1p(e) / e)


# Theorem 3.3


def log_rho(p: Number, n: Number, L: Number, gamma: Number, delta: Number, c_1: float = 1.0) -> Number:
    """(4): log of c_1 / (sqrt(p) gamma) (sqrt(log(n/delta)) + log(6 n^(2+24L))).

    'c_1 a large enough absolute constant': Lemma E.11's and at least 1 (Lemma D.9); 1 is the least it can be.
    """
    inside = np.sqrt(np.log(n) - np.log(delta)) + math.log(6) + (2 + 24 * L) * np.log(n)
    return math.log(c_1) - np.log(p) / 2 - np.log(gamma) + np.log(inside)


def rho(p: Number, n: Number, L: Number, gamma: Number, delta: Number, c_1: float = 1.0) -> Number:
    """(4): the radius around V^(1) in which the tangent class reaches loss 1 / (6 n^(2+24L))."""
    return np.exp(log_rho(p, n, L, gamma, delta, c_1))


def tau(p: Number, n: Number, L: Number, gamma: Number, delta: Number, c_1: float = 1.0) -> Number:
    """3 L rho, the radius in which gradient descent stays for T steps (Lemma D.8)."""
    return 3 * L * rho(p, n, L, gamma, delta, c_1)


def tau_limit(p: Number, L: Number, c: float = 1.0) -> Number:
    """Lemma D.8's upper limit on tau: c / ((p log p)^(3/8) L^(15/4)). 'c small enough'; 1 is generous."""
    return c * np.exp(-3 / 8 * (np.log(p) + np.log(np.log(p))) - 15 / 4 * np.log(L))


def needed_width(n: Number, L: Number, gamma: Number, delta: Number, c_1: float = 1.0, c: float = 1.0) -> Number:
    """log10 of the p from which tau(p) <= tau_limit(p) holds for all widths, log10(2) if it always does.

    With x = log p and tau(p) = a / sqrt(p): x - 3 log x >= 8 log(a L^(15/4) / c), where the left side is least at
    x = 3 and grows beyond. So p = (a L^(15/4) / c)^8 log^3 p with a = Theta(L^2 log(n) / gamma).
    """
    log_a = math.log(3) + np.log(L) + log_rho(1.0, n, L, gamma, delta, c_1)
    target = np.asarray(8 * (log_a + 15 / 4 * np.log(L) - math.log(c)))
    low, high = np.full(target.shape, 3.0), 2 * np.maximum(target, 0.0) + 20
    for _ in range(100):  # bisection: down to neighbouring floats
        middle = (low + high) / 2
        enough = middle - 3 * np.log(middle) >= target
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(target <= 3 - 3 * math.log(3), math.log10(2), high / LN10)


def h_nt(p: Number, n: Number, L: Number, constant: float = 6.0) -> Number:
    """(5): (1+24L) log(n) / (6 (6p)^((L+1)/2) L^3). ``constant`` is the leading 6; the proof needs 4 sqrt(6)."""
    return (1 + 24 * L) * np.log(n) / constant * np.exp(-(L + 1) / 2 * np.log(6 * p) - 3 * np.log(L))


def log_alpha_nt(p: Number, L: Number, constant: float = 1.0) -> Number:
    """log of alpha_NT = Theta(1 / (p L^5)); ``constant`` is the Theta's."""
    return math.log(constant) - np.log(p) - 5 * np.log(L)


def log_T(
    p: Number, n: Number, L: Number, gamma: Number, delta: Number, c_1: float = 1.0, constant: float = 1.0
) -> Number:
    """log of T = 3 (L+1) rho^2 n^(2+24L) / (2 alpha_NT), the steps of the first stage; p cancels.

    Without the ceiling, which is nothing to n^26 >= 10^12. ``constant`` is alpha_NT's.
    """
    squares = 2 * log_rho(p, n, L, gamma, delta, c_1) + (2 + 24 * L) * np.log(n)
    return math.log(1.5) + np.log(L + 1) + squares - log_alpha_nt(p, L, constant)


def log_rate_3_3(p: Number, n: Number, L: Number, log_elapsed: Number, constant: float = 50.0) -> Number:
    """log of 50 L^((3L+7)/2) (L+1)^2 (6p)^(2L+5) / (n^(1+24L) (t-T-1)), log_elapsed = log(t-T-1).

    The bound of the second stage before the proof writes O(.); ``constant`` is 70 with (5) put right.
    """
    top = math.log(constant) + (3 * L + 7) / 2 * np.log(L) + 2 * np.log(L + 1) + (2 * L + 5) * np.log(6 * p)
    return top + log_threshold(n, L) - log_elapsed


# Proposition C.1: two layers (L = 1), each class within r of mu or -mu


def clustered_h(p: Number) -> Number:
    """The largest h of Proposition C.1: sqrt(pi) / (2p)."""
    return math.sqrt(math.pi) / (2 * p)


def clustered_radius(p: Number, n: Number, h: Number, delta: Number, c_prime: float = 1.0) -> Number:
    """The largest r of Proposition C.1: min{1/16, sqrt(p) h / (c' sqrt(log(3pn/delta)))}.

    c' = 1 is enough for (c): V_{1,i}.(x_s - y_s mu) is normal of variance at most 2 r^2 / p, so it exceeds 2h with
    probability at most exp(-p h^2 / r^2) <= delta / (3pn), and a union over p n pairs leaves delta / 3.
    (P(|N(0,1)| > z) <= exp(-z^2 / 2); the 2 that (42) has before it is not needed.)
    """
    return np.minimum(1 / 16, np.sqrt(p) * h / (c_prime * np.sqrt(np.log(3 * p * n / delta))))


def clustered_margin(plus: Number, minus: Number, p: Number) -> Number:
    """gamma that the W* of Proposition C.1 has, for |S+| = plus, |S-| = minus: the worse class's

    (3|S+| - |S-|) / (8 sqrt(|S+| + |S-|)) / sqrt(p)   (y = 1; y = -1 has + and - swapped).
    """
    worse = 3 * np.minimum(plus, minus) - np.maximum(plus, minus)
    return worse / (8 * np.sqrt(np.asarray(plus) + minus) * np.sqrt(p))
