/** From 50 µs (a small model without a queue) to 60 s (a large one under load), two or three steps a decade. */
export const latencyBucketsSeconds = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
] as const;
