/** The sources of the workspace as the tidy rules see them: every file with the modules it imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = resolve(fileURLToPath(new URL('../..', import.meta.url)));

export interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly package: string;
  readonly isTest: boolean;
  readonly text: string;
  readonly imports: readonly SourceImport[];
}

export interface SourceImport {
  readonly specifier: string;
  /** Erased by the compiler: it ties types together, not modules. */
  readonly isTypeOnly: boolean;
  /** The file from the root, for relative imports. */
  readonly file: string | undefined;
}

const importPattern = /(?:^|\n)\s*(import|export)\s+(type\s+)?(?:[^'"`;]*?\sfrom\s+)?['"]([^'"\n]+)['"]/g;
const dynamicImportPattern = /\bimport\(\s*['"]([^'"\n]+)['"]/g;

/** A declaration that is exported where it stands: its keyword and its name. */
export const exportPattern =
  /^export\s+(?:abstract\s+|async\s+)*(const|let|function\*?|class|type|interface)\s+([A-Za-z_$][\w$]*)/gm;

export function sourceFiles(): readonly SourceFile[] {
  const paths = listFiles(join(root, 'packages')).filter((path) => path.endsWith('.ts'));
  return paths.map((path) => sourceFileFrom(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function sourceFileFrom(absolute: string): SourceFile {
  const path = relative(root, absolute).replaceAll('\\', '/');
  const text = readFileSync(absolute, 'utf8');
  const imports: SourceImport[] = [];
  const add = (specifier: string, isTypeOnly: boolean): void => {
    const file = specifier.startsWith('.') ? relative(root, join(dirname(absolute), specifier)) : undefined;
    imports.push({ specifier, isTypeOnly, file });
  };
  for (const [, , type, specifier] of text.matchAll(importPattern)) add(specifier as string, type !== undefined);
  for (const [, specifier] of text.matchAll(dynamicImportPattern)) add(specifier as string, false);
  const isTest =
    /\.(test|bench|test\.helper)\.ts$/.test(path) || /-contract(\.ts$|\/)/.test(path) || path.includes('/testing/');
  return { path, package: path.split('/')[1] as string, isTest, text, imports };
}

/** Every file below a folder, without what is installed or built. */
export function listFiles(folder: string): string[] {
  const files: string[] = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== 'dist') files.push(...listFiles(path));
    else if (entry.isFile()) files.push(path);
  }
  return files;
}
