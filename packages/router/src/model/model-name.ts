/** Names are used in URL paths and metric labels, which longer ones would bloat. */
const modelNameLengthMax = 128;

/** What is wrong with a model's name; undefined: it is valid. */
export function modelNameProblem(name: string): string | undefined {
  if (name.trim() === '' || name !== name.trim())
    return 'a model name must not be blank or begin or end with white space; rename it';
  if (name.length > modelNameLengthMax) {
    return `a model name has at most ${modelNameLengthMax} characters, this one has ${name.length}; rename it`;
  }
  if (name.includes('\ufffd')) return 'the name is not valid UTF-8; rename it';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is searched for
  const odd = /[\u0000-\u001f\u007f/\\:@?#%]/u.exec(name)?.[0];
  if (odd === undefined) return undefined;
  // These end a name in a URL, or separate it from its version (`name:1`) or label (`name@stable`).
  return `a model name must not contain ${JSON.stringify(odd)}; rename it`;
}
