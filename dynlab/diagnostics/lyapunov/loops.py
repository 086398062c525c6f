"""A flow's solution with its tangent vectors, in scalar code: the text follows that of `step` and `jacobian`.

DOP853 with its step control (Hairer, Nørsett and Wanner, II.5 and II.10) of y = (h, V, ∫ tr J): h' = f(h), V' = J V.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined, no-untyped-def, misc"


@njit(cache=True, error_model="numpy")
def stages(y, n, k, dt, A, c, w, J, rates, new):
    """Fill the rates of y at all stages, the step's end last, which stays in `new`."""
    for i in range(len(A)):
        for m in range(len(y)):
            total = 0.0
            for j in range(i):
                total += A[i, j] * rates[j, m]
            new[m] = y[m] + dt * total
        step(new[:n], c, w, rates[i, :n])
        jacobian(new[:n], c, w, J)
        trace = 0.0
        for a in range(n):
            trace += J[a, a]
            for b in range(k):
                total = 0.0
                for m in range(n):
                    total += J[a, m] * new[n + m * k + b]
                rates[i, n + a * k + b] = total
        rates[i, n + n * k] = trace


@njit(cache=True, error_model="numpy")
def orthonormalise(y, n, k, logs, bounds):
    """Make the columns of V in y orthonormal; add ln R_ii to `logs`, and ‖V‖/R_ii to `bounds`."""
    whole = sqrt(np.sum(y[n : n + n * k] ** 2))
    for i in range(k):
        size = 0.0
        for m in range(n + i, n + n * k, k):
            size += y[m] ** 2
        size = sqrt(size)
        logs[i] += log(size)
        bounds[i] += whole / size
        for m in range(n + i, n + n * k, k):
            y[m] /= size
        for j in range(1, k - i):
            along = 0.0
            for m in range(n + i, n + n * k, k):
                along += y[m] * y[m + j]
            for m in range(n + i, n + n * k, k):
                y[m + j] -= along * y[m]


@njit(cache=True, error_model="numpy")
def estimate(rates, errors, first, last, length):
    """Return the error of some entries of y in a step of length 1: of order 5, damped by that of order 3."""
    fifth, third = 0.0, 0.0
    for m in range(first, last):
        five, three = 0.0, 0.0
        for i in range(len(rates)):
            five += errors[0, i] * rates[i, m]
            three += errors[1, i] * rates[i, m]
        fifth += (five / length) ** 2
        third += (three / length) ** 2
    return fifth / sqrt(fifth + 0.01 * third + 1e-300)


@njit(cache=True, error_model="numpy")
def advance(y, n, k, t, dt, scale, mark, limits, frames, A, errors, c, w, logs, bounds, trail, count, tried):
    """Follow y from t to `mark`; where there are `frames` V is made orthonormal after each step.

    `scale` is the state's largest size so far. Returns t, the next step's length, the scale, the numbers of steps
    taken and tried, and 0, or why it ended before: 1 left, 2 lost, 3 stiff.
    """
    shortest, bound, most, tolerance = limits
    size = n + n * k
    J, rates, new = np.empty((n, n)), np.empty((len(A), size + 1)), np.empty(size + 1)
    while t < mark:
        if tried >= most:
            return t, dt, scale, count, tried, 3
        tried += 1
        h = min(dt, mark - t)
        stages(y, n, k, h, A, c, w, J, rates, new)
        reach = np.abs(new[:n]).max()
        error = estimate(rates, errors, 0, n, max(scale, reach, 1e-300))
        error = h / tolerance * max(error, estimate(rates, errors, n, size, sqrt(np.sum(new[n:size] ** 2))))
        change = min(10.0, max(0.2, 0.9 * max(error, 1e-16) ** -0.125)) if error < 1e300 else 0.2
        if error < 1 and reach <= bound:
            t = mark if h == mark - t else t + h
            dt = h * change if h == dt else max(dt, h * change)
            scale = max(scale, reach)
            count += 1
            for m in range(size + 1):
                y[m] = new[m]
            for m in range(n):
                trail[count % len(trail), m] = y[m]
            if frames:
                orthonormalise(y, n, k, logs, bounds)
        elif error < 1 and h <= 1e-5 * t:
            return t, dt, scale, count, tried, 1
        elif h <= shortest:
            return t, dt, scale, count, tried, 2
        else:
            dt = h * (0.5 if error < 1 else change)
    return t, dt, scale, count, tried, 0
