import type { ConfigProblem } from '@millrace/protocol';
import type { TextPosition } from './parser.ts';

/** Problems that are listed for one file; one more says that there are others. */
export const problemsMax = 100;

/** The errors (`problems`) and warnings found in one file, and the positions of its fields. */
export class Findings {
  readonly source: string;
  readonly problems: ConfigProblem[] = [];
  readonly warnings: ConfigProblem[] = [];
  /** By dotted path, for instance `input[0].dims`. */
  readonly positions: Map<string, TextPosition>;

  constructor(source: string, positions: ReadonlyMap<string, TextPosition> = new Map()) {
    this.source = source;
    this.positions = new Map(positions);
  }

  /** For findings about the same file that belong to one version only. */
  fork(): Findings {
    return new Findings(this.source, this.positions);
  }

  problem(field: string, message: string): void {
    this.#add(this.problems, field, message);
  }

  warning(field: string, message: string): void {
    this.#add(this.warnings, field, message);
  }

  get hasProblems(): boolean {
    return this.problems.length > 0;
  }

  #add(list: ConfigProblem[], field: string, message: string): void {
    if (list.length > problemsMax) return;
    if (list.length === problemsMax) {
      list.push({ source: this.source, message: `there are more than ${problemsMax}; the others are not shown` });
      return;
    }
    const position = this.#nearest(field);
    list.push({
      source: this.source,
      ...(position === undefined ? {} : { line: position.line }),
      ...(field === '' ? {} : { field }),
      message,
    });
  }

  /** A missing field is reported at the block that it belongs to. */
  #nearest(field: string): TextPosition | undefined {
    for (let path = field; path !== ''; path = path.slice(0, Math.max(0, path.search(/(?:\.|\[)[^.[]*$/)))) {
      const position = this.positions.get(path);
      if (position !== undefined) return position;
    }
    return undefined;
  }
}
