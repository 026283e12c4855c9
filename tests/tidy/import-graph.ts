/** Which source knows which other: by a path, or by a name that it imports from the entry point of a package. */
import { type SourceFile, sourceFiles } from './source-files.ts';

export class ImportGraph {
  readonly #files: ReadonlyMap<string, SourceFile>;

  constructor(files: readonly SourceFile[] = sourceFiles()) {
    this.#files = new Map(files.map((file) => [file.path, file]));
  }

  has(path: string): boolean {
    return this.#files.has(path);
  }

  /** Whether a file imports another, types included. */
  imports(path: string, target: string): boolean {
    const [file, wanted] = [this.#files.get(path), this.#files.get(target)];
    if (file === undefined || wanted === undefined) return false;
    if (file.imports.some((one) => one.file === target)) return true;
    const taken = namesFromPackage(file.text, wanted.package);
    return taken.some((name) => exports(wanted.text, name));
  }

  /** The files that run with it: what it imports by path, without types. */
  loads(path: string): readonly string[] {
    const imports = this.#files.get(path)?.imports ?? [];
    return imports.filter(({ isTypeOnly }) => !isTypeOnly).flatMap(({ file }) => file ?? []);
  }
}

function namesFromPackage(text: string, name: string): readonly string[] {
  const pattern = new RegExp(
    `import\\s+(?:type\\s+)?\\{([^}]*)\\}\\s+from\\s+'(?:@millrace/)?${name}(?:/[\\w-]+)?'`,
    'g',
  );
  return [...text.matchAll(pattern)].flatMap(([, names]) =>
    (names as string).split(',').map((one) => one.replace(/\btype\s|\sas\s.*/g, '').trim()),
  );
}

function exports(text: string, name: string): boolean {
  const pattern = new RegExp(
    `^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\\*?|const|interface|type) ${name}\\b`,
    'm',
  );
  return name !== '' && pattern.test(text);
}
