/** `@millrace/client/audio`: for pages that send sound. It is not part of the bundle of a page that does not. */
export { type AudioChunkOptions, type AudioChunks, audioChunks, microphoneChunks } from './audio-chunks.ts';
