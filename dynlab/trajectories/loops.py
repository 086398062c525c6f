# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
"""Orbits one by one, in the scalar code of a step: `dynlab.program.compiled` appends this text to it."""


@njit(cache=True, error_model="numpy", nogil=True)
def advance(h, c, w, dt, slopes, out):
    """Write the next state into `out`: a map's where `dt` is 0, else that of a step of Runge and Kutta's."""
    if dt == 0.0:
        step(h, c, w, out)
        return
    n = len(h)
    step(h, c, w, slopes[0])
    for stage in range(1, 4):
        part = dt if stage == 3 else dt / 2
        for i in range(n):
            out[i] = h[i] + part * slopes[stage - 1, i]
        step(out, c, w, slopes[stage])
    for i in range(n):
        out[i] = h[i] + dt / 6 * (slopes[0, i] + 2 * slopes[1, i] + 2 * slopes[2, i] + slopes[3, i])


@njit(cache=True, error_model="numpy", nogil=True)
def orbit(states, c, length, dt):
    """Write the states that follow on the first of `states` (m, n) into the others."""
    w, slopes = np.empty(length), np.empty((4, states.shape[1]))
    for number in range(1, len(states)):
        advance(states[number - 1], c, w, dt, slopes, states[number])


@njit(cache=True, error_model="numpy", nogil=True)
def follow(states, c, length, dt, count, bound, allowed, returns, period, gone, taken):
    """Move each of `states` (k, n) by `count` steps; the other arrays are those of `following.Stretch`."""
    n = states.shape[1]
    w, slopes, normal, first = np.empty(length), np.empty((4, n)), np.empty(n), np.empty(n)
    h, new = np.empty(n), np.empty(n)
    for k in range(len(states)):
        h[:] = states[k]
        first[:] = states[k]
        if dt > 0.0:
            step(h, c, w, normal)
        for number in range(1, count + 1):
            advance(h, c, w, dt, slopes, new)
            size, moved, away, side, then = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(n):
                size = max(size, abs(new[i])) if new[i] == new[i] else np.inf
                moved = max(moved, abs(new[i] - h[i]))
                away = max(away, abs(new[i] - first[i]))
                side += (h[i] - first[i]) * normal[i]
                then += (new[i] - first[i]) * normal[i]
            if not size <= bound:
                gone[k], taken[k] = True, number
                break
            if dt > 0.0:
                if period[k] == 0.0 and side < 0.0 and then >= 0.0:
                    part, away = side / (side - then), 0.0
                    for i in range(n):
                        away = max(away, abs(h[i] + part * (new[i] - h[i]) - first[i]))
                    if away <= returns[k]:
                        period[k] = dt * (number - 1 + part)
            elif moved <= allowed[k]:
                period[k], taken[k] = 1.0, number
                h[:] = new
                break
            elif period[k] == 0.0 and away <= allowed[k]:
                period[k] = number
            h[:] = new
        states[k] = h
