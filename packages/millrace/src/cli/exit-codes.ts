/** What the command's exit status says; `millrace --help` lists them. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  configuration: 2,
  /** 128 plus the number of the signal, as shells expect. */
  hungUp: 129,
  interrupted: 130,
  terminated: 143,
} as const;
