/** The entry point for routers that name models by content. Importing it loads no engine. */
export { contentOf } from './content-of.ts';
export { FileDigests, type LastingDigests } from './file-digests.ts';
