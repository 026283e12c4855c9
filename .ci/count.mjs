// count.mjs LOG: prints "PASSED FAILED", read from the closing line of vitest, pytest or our own runners.
import { readFileSync } from 'node:fs';

// biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one
const text = readFileSync(process.argv[2], 'utf8').replaceAll(/\u001b\[[0-9;]*m/g, '');
const number = (pattern, line) => Number(pattern.exec(line)?.[1] ?? 0);
let passed = 0;
let failed = 0;
for (const line of text.split('\n')) {
  const isVitest = /^\s*Tests\s+\d+/.test(line);
  const isPytest = /^=* ?(\d+ (passed|failed|error|errors|skipped|warnings?|deselected|xfailed),? ?)+in [\d.]+s/.test(
    line,
  );
  const isPlain = /^([\w -]+: )?\d+ passed, \d+ failed(, \d+ skipped)?$/.test(line);
  if (!isVitest && !isPytest && !isPlain) continue;
  passed += number(/(\d+) passed/, line);
  failed += number(/(\d+) failed/, line) + number(/(\d+) errors?\b/, line);
}
console.log(`${passed} ${failed}`);
