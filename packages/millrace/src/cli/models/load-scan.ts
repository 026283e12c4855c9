/** What a scan says after its models were loaded: an engine alone knows its operators. */
import type { RepositoryScan } from '@millrace/router/internal';
import type { FailedLoad } from '../../load-models.ts';

/** The scan with what could not be loaded among its failures. */
export function scanAfterLoads(scan: RepositoryScan, failed: readonly FailedLoad[]): RepositoryScan {
  const failures = [...scan.failures];
  const models = scan.models.flatMap((model) => {
    const versions = model.versions.filter(({ version, path }) => {
      const failure = failed.find((one) => one.name === model.name && one.version === version);
      if (failure !== undefined)
        failures.push({ name: model.name, version, problems: [{ source: path, message: failure.reason }] });
      return failure === undefined;
    });
    return versions.length === 0 ? [] : [{ ...model, versions }];
  });
  return { ...scan, models, failures: failures.sort(byName) };
}

function byName(left: { readonly name: string }, right: { readonly name: string }): number {
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}
