/** The entry point for routers that name models by content. Importing it loads no engine. */
export { contentOf } from './content-of.ts';
export { FileDigests } from './file-digests.ts';
