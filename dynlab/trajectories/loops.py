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
def orbit(states, c, length, dt):
    """Write the states that follow on the first of `states` (m, n) into the others; `dt` is 0 of a map."""
    w, slopes = np.empty(length), np.empty((4, N))
    for number in range(1, len(states)):
        if dt == 0.0:
            step(states[number - 1], c, w, states[number])
        else:
            runge_kutta(states[number - 1], c, w, dt, slopes, states[number])


@njit(cache=True, error_model="numpy", nogil=True)
def follow_map(states, c, length, count, bound, near, period, gone, taken):
    """Move each of `states` (k, n) by `count` steps; the other arrays are those of `following.Stretch`."""
    w, h, new, first = np.empty(length), np.empty(N), np.empty(N), np.empty(N)
    for k in range(len(states)):
        for i in range(N):
            h[i] = first[i] = states[k, i]
        for number in range(1, count + 1):
            step(h, c, w, new)
            inside, rests, back = True, True, True
            for i in range(N):
                inside &= abs(new[i]) <= bound
                rests &= abs(new[i] - h[i]) <= near[k]
                back &= abs(new[i] - first[i]) <= near[k]
            if not inside:
                gone[k], taken[k] = True, number
                break
            for i in range(N):
                h[i] = new[i]
            if rests:
                period[k], taken[k] = 1.0, number
                break
            if back and period[k] == 0.0:
                period[k] = number
        for i in range(N):
            states[k, i] = h[i]


@njit(cache=True, error_model="numpy", nogil=True)
def follow_flow(states, c, length, dt, count, bound, near, period, gone, taken):
    """Do as `follow_map` in steps of `dt`: an orbit comes back where it crosses the plane through its first state."""
    w, h, new, first = np.empty(length), np.empty(N), np.empty(N), np.empty(N)
    slopes, normal = np.empty((4, N)), np.empty(N)
    for k in range(len(states)):
        for i in range(N):
            h[i] = first[i] = states[k, i]
        step(first, c, w, normal)
        for number in range(1, count + 1):
            runge_kutta(h, c, w, dt, slopes, new)
            inside, side, then, away = True, 0.0, 0.0, 0.0
            for i in range(N):
                inside &= abs(new[i]) <= bound
                side += (h[i] - first[i]) * normal[i]
                then += (new[i] - first[i]) * normal[i]
            if not inside:
                gone[k], taken[k] = True, number
                break
            if side < 0.0 and then >= 0.0 and period[k] == 0.0:
                part = side / (side - then)
                for i in range(N):
                    away = max(away, abs(h[i] + part * (new[i] - h[i]) - first[i]))
                if away <= near[k]:
                    period[k] = dt * (number - 1 + part)
            for i in range(N):
                h[i] = new[i]
        for i in range(N):
            states[k, i] = h[i]
