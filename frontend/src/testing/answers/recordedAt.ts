export const recordedAt = '2026-11-22T13:45:39+00:00';
