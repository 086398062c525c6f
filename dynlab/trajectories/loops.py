# ruff: noqa: F821
# mypy: disable-error-code="name-defined,no-untyped-def"
"""Orbits one by one, in the scalar code of a step: `dynlab.program.compiled` appends this text to it."""


@njit(cache=True, error_model="numpy", nogil=True)
def runge_kutta(h, c, w, dt, slopes, out):
    """Write the state of a flow a step of the classical method later into `out`."""
    step(h, c, w, slopes[0])
    for stage in range(1, 4):
        part = dt if stage == 3 else dt / 2
        for i in range(N):
            out[i] = h[i] + part * slopes[stage - 1, i]
        step(out, c, w, slopes[stage])
    for i in range(N):
        out[i] = h[i] + dt / 6 * (slopes[0, i] + 2 * slopes[1, i] + 2 * slopes[2, i] + slopes[3, i])


@njit(cache=True, error_model="numpy", nogil=True)
def advance(h, c, w, dt, slopes, out):
    """Write the next state of a map, whose `dt` is 0, or of a flow into `out`."""
    if dt == 0.0:
        step(h, c, w, out)
    else:
        runge_kutta(h, c, w, dt, slopes, out)


@njit(cache=True, error_model="numpy", nogil=True)
def orbit(states, c, length, dt):
    """Write the states that follow on the first of `states` (m, n) into the others."""
    w, slopes = np.empty(length), np.empty((4, N))
    for number in range(1, len(states)):
        advance(states[number - 1], c, w, dt, slopes, states[number])


@njit(cache=True, error_model="numpy", nogil=True)
def follow(states, c, length, dt, count, bound, near, period, gone, taken):
    """Move each of `states` (k, n) by `count` steps; the other arrays are those of `following.Stretch`.

    A flow's orbit comes back where it crosses the plane through its first state, square to the velocity there, and
    misses it by no more than `following.RETURNS` times its largest distance from there.
    """
    w, h, new, first = np.empty(length), np.empty(N), np.empty(N), np.empty(N)
    slopes, normal = np.empty((4, N)), np.empty(N)
    for k in range(len(states)):
        for i in range(N):
            h[i] = first[i] = states[k, i]
        step(first, c, w, normal)
        reach = 0.0
        for number in range(1, count + 1):
            advance(h, c, w, dt, slopes, new)
            inside, moves, side, then, away = True, 0.0, 0.0, 0.0, 0.0
            for i in range(N):
                inside &= abs(new[i]) <= bound
                moves = max(moves, abs(new[i] - h[i]))
                side += (h[i] - first[i]) * normal[i]
                then += (new[i] - first[i]) * normal[i]
            if not inside:
                gone[k], taken[k] = True, number
                break
            crosses, part = dt == 0.0 or (side < 0.0 and then >= 0.0), 1.0
            if dt != 0.0 and crosses:
                part = side / (side - then)
            for i in range(N):
                away = max(away, abs(h[i] + part * (new[i] - h[i]) - first[i]))
                reach = max(reach, abs(new[i] - first[i]))
                h[i] = new[i]
            nearest = near[k] if dt == 0.0 else min(near[k], 0.01 * reach)
            if crosses and away <= nearest and period[k] == 0.0:
                period[k] = number if dt == 0.0 else dt * (number - 1 + part)
            if dt == 0.0 and moves <= near[k]:
                period[k], taken[k] = 1.0, number
                break
        for i in range(N):
            states[k, i] = h[i]
