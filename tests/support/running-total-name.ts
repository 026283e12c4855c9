/** Apart from the model's file, so that pages can have it. */
export const runningTotal = 'running_total';
