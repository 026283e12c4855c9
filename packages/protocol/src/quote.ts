/** Limits how much of a caller's text a message quotes: an answer must never grow with what was sent. */

/** The longest text that `quote` repeats in full. */
export const quotedCharactersMax = 128;

/** A caller's text in quotes; of a long one only the beginning and its length. */
export function quote(text: string): string {
  if (text.length <= quotedCharactersMax) return `'${text}'`;
  return `'${beginningOf(text, quotedCharactersMax)}…' (${text.length} characters)`;
}

/** The text itself, or as much of it as fits `charactersMax`, followed by its length. */
export function shortened(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  return `${beginningOf(text, charactersMax)}… (${text.length} characters)`;
}

/** The first items as a list, and how many more there are. */
export function listed(items: readonly string[], itemsMax: number): string {
  if (items.length <= itemsMax) return items.join(', ');
  return `${items.slice(0, itemsMax).join(', ')} and ${items.length - itemsMax} more`;
}

/** Does not end within a surrogate pair: half a character is not valid UTF-8. */
function beginningOf(text: string, characters: number): string {
  const last = text.charCodeAt(characters - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? characters - 1 : characters);
}
