/**
 * The longest prompt, as a text. To find its tokens keeps a thread busy: about 1 s for 100,000 characters where the whole text is one
 * word for the tokenizer (byte-fallback BPE), and less where it is split into words first.
 */
export const textCharactersMax = 400_000;

/**
 * Combining marks on one character. A form of Unicode has them in a fixed order, and sorting takes time with the square of their number:
 * 1 s for 25,000 of them. Languages need a few, and Unicode's stream-safe form has at most 30.
 */
export const marksInARowMax = 128;
