// Node has these globals as accessors: each use of one is a call, which V8 does not leave out. As imports they are constants.
export { Buffer } from 'node:buffer';
export { performance } from 'node:perf_hooks';
export { default as process } from 'node:process';
