/**
 * The longest prompt, as a text. To find its tokens keeps a thread busy: about 1 s for 100,000 characters where the whole text is one
 * word for the tokenizer (byte-fallback BPE), and less where it is split into words first.
 */
export const textCharactersMax = 400_000;
