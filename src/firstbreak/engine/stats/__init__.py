"""Pure transforms of a curve: what an experienced eye sees in it, with honest uncertainty. numpy only.

Each module answers one question and names the function after it: `from firstbreak.engine.stats.trend import trend`.

    points       the usable part of a Series; block means of long ones
    noise        how large is the noise, and how correlated?
    trend        is there a trend, or is the noise all there is?
    smooth       what would this curve look like without noise, or without a fault?
    onset        did something change, when (an interval), and how: level, ramp or variance?
    shape        what is this score doing: rising, plateau, flat, declining, peaked, collapsed, oscillating?
    oscillation  does it have a direction at all; did its sign reverse; did its size jump?
    ceiling      where is it heading, how much is left, when does it hit a wall?
    spikes       isolated spikes against lasting shifts, heavy tails, periods

Every function takes any length and any values, NaN and infinities among them, and answers "nothing seen" (None, an
infinite interval, "too_short") where the curve holds no answer.
"""
