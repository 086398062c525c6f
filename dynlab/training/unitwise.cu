// All steps of a sequence in one kernel, forward and backward, for steps h' = f(h, M h + d, …) whose f acts on each unit
// by itself. A block of threads runs one sample, a thread one unit: the blocks never wait for each other. The thread has
// HELD entries of its column of the matrix in registers, and those below in memory that the block shares.
//
// Before this text stand the constants N (units), SHARED, ASIDE, EVERY, OTHERS, DIRECT and the function `unit`; see
// fused_kernels.py. Arrays have shape (step, sample, N); `row` is the distance from one step to the next.

constexpr int THREADS = (N + 31) / 32 * 32;
constexpr int PADDED = (N + 3) / 4 * 4;  // rows of the matrix, those beyond N zeros
constexpr int HELD = PADDED < 128 ? PADDED : 128;
constexpr int AHEAD = 4;  // steps that are read before their turn, as the way from memory takes longer than a step

struct Column {
    float held[HELD];
    const float* rest;

    __device__ Column(const float* matrix, float* memory) : rest(memory) {
        const int i = threadIdx.x;
#pragma unroll
        for (int k = 0; k < HELD; ++k) held[k] = i < N && k < N ? matrix[k * N + i] : 0.0f;
        for (int k = HELD; k < PADDED; ++k) memory[(k - HELD) * THREADS + i] = i < N && k < N ? matrix[k * N + i] : 0.0f;
    }

    // Σ_k v_k · column_k, with v in shared memory
    __device__ float times(const float4* v) const {
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < HELD; k += 4) {
            const float4 part = v[k / 4];
            sum[0] += part.x * held[k];
            sum[1] += part.y * held[k + 1];
            sum[2] += part.z * held[k + 2];
            sum[3] += part.w * held[k + 3];
        }
        const float* entry = rest + threadIdx.x;
#pragma unroll 4
        for (int k = HELD; k < PADDED; k += 4, entry += 4 * THREADS) {
            const float4 part = v[k / 4];
            sum[0] += part.x * entry[0];
            sum[1] += part.y * entry[THREADS];
            sum[2] += part.z * entry[2 * THREADS];
            sum[3] += part.w * entry[3 * THREADS];
        }
        return (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
};

extern __shared__ float memory[];

// States 1 … steps behind state 0, and M h + d over d; the matrix is M transposed.
extern "C" __global__ void __launch_bounds__(THREADS) forward(
    float* states, float* pre, const float* aside, const float* shared, const float* matrix, int row, int steps) {
    __shared__ float4 vector[2][THREADS / 4];  // two, so that a step waits for the others once
    const Column column(matrix, memory);
    const int i = threadIdx.x;
    const bool here = i < N;
    float own[SHARED + 1];
#pragma unroll
    for (int k = 0; k < SHARED; ++k) own[k] = here ? shared[k * N + i] : 0.0f;
    long long at = (long long)blockIdx.x * N + i;
    float h = here ? states[at] : 0.0f, drive[AHEAD], beside[AHEAD][ASIDE + 1];
    const long long apart = (long long)row * steps;  // from one aside to the next
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
        const bool ready = here && j < steps;
        drive[j] = ready ? pre[at + (long long)j * row] : 0.0f;
#pragma unroll
        for (int k = 0; k < ASIDE; ++k) beside[j][k] = ready ? aside[k * apart + at + (long long)j * row] : 0.0f;
    }
    for (int first = 0; first < steps; first += AHEAD) {
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            const int t = first + j;
            if (t >= steps) break;
            float4* v = vector[t % 2];
            reinterpret_cast<float*>(v)[i] = here ? h : 0.0f;
            __syncthreads();
            const float p = drive[j] + column.times(v);
            h = unit(h, p, beside[j], own);
            const bool ready = here && t + AHEAD < steps;
            drive[j] = ready ? pre[at + (long long)AHEAD * row] : 0.0f;
#pragma unroll
            for (int k = 0; k < ASIDE; ++k)
                beside[j][k] = ready ? aside[k * apart + at + (long long)AHEAD * row] : 0.0f;
            if (here) pre[at] = p;
            at += row;
            if (here) states[at] = h;
        }
    }
}

// The gradients by M h + d at each step and by state 0, from that by the last state and, if EVERY, by each.
extern "C" __global__ void __launch_bounds__(THREADS) backward(
    const float* by_states, const float* by_last, float* by_first, float* arriving, float* by_pre,
    const float* slope_pre, const float* slope_state, const float* matrix, int row, int steps) {
    __shared__ float4 vector[2][THREADS / 4];
    const Column column(matrix, memory);
    const int i = threadIdx.x;
    const bool here = i < N;
    const long long sample = (long long)blockIdx.x * N + i;
    long long at = sample + (long long)row * (steps - 1);
    float g = here ? by_last[sample] : 0.0f, through[AHEAD], direct[AHEAD], entering[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; ++j) {
        const bool ready = here && j < steps;
        const long long there = at - (long long)j * row;
        through[j] = ready ? slope_pre[there] : 0.0f;
        direct[j] = DIRECT && ready ? slope_state[there] : 0.0f;
        entering[j] = EVERY && ready ? by_states[there] : 0.0f;
    }
    for (int first = 0; first < steps; first += AHEAD) {
#pragma unroll
        for (int j = 0; j < AHEAD; ++j) {
            const int done = first + j;
            if (done >= steps) break;
            float4* v = vector[done % 2];
            if (EVERY) g += entering[j];
            const float p = g * through[j];
            reinterpret_cast<float*>(v)[i] = here ? p : 0.0f;
            if (OTHERS && here) arriving[at] = g;
            if (here) by_pre[at] = p;
            const float kept = DIRECT ? g * direct[j] : 0.0f;
            const bool ready = here && done + AHEAD < steps;
            const long long there = at - (long long)AHEAD * row;
            through[j] = ready ? slope_pre[there] : 0.0f;
            if (DIRECT) direct[j] = ready ? slope_state[there] : 0.0f;
            if (EVERY) entering[j] = ready ? by_states[there] : 0.0f;
            at -= row;
            __syncthreads();
            g = kept + column.times(v);
        }
    }
    if (here) by_first[sample] = g;
}
