/** Programs of the system that scenarios need. They are never installed from here: what is missing is named. */
import { spawnSync } from 'node:child_process';
import type { Scenario } from './scenario.ts';

export type Tool = 'h2load' | 'openssl';

const tools: Readonly<Record<Tool, { readonly probe: string; readonly install: string }>> = {
  h2load: {
    probe: '--version',
    install:
      'Debian and Ubuntu: apt-get install nghttp2-client; Fedora: dnf install nghttp2; macOS: brew install nghttp2',
  },
  openssl: { probe: 'version', install: 'Debian and Ubuntu: apt-get install openssl; macOS: brew install openssl' },
};

/** One line for each tool that is not there: who needs it and how to get it. */
export function missingTools(scenarios: readonly Scenario[], isThere: (tool: Tool) => boolean = canRun): string[] {
  const lines: string[] = [];
  for (const tool of Object.keys(tools) as Tool[]) {
    const names = scenarios.filter(({ needs }) => needs?.includes(tool)).map(({ name }) => name);
    if (names.length === 0 || isThere(tool)) continue;
    lines.push(`${tool} is not installed, and ${names.join(', ')} cannot run without it. ${tools[tool].install}.`);
  }
  return lines;
}

function canRun(tool: Tool): boolean {
  return spawnSync(tool, [tools[tool].probe], { stdio: 'ignore' }).status === 0;
}
