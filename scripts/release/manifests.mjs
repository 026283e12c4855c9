/** The version in every package.json, in the dependencies between workspaces, and in the lock file. */

/**
 * @typedef {{ name: string, version: string, dependencies?: Record<string, string> }} Manifest
 * @typedef {{ path: string, manifest: Manifest }} ManifestFile
 */

/**
 * Every field with another version: all packages are released together, and depend on exactly each other's version.
 * @param {readonly ManifestFile[]} files The first is that of the workspace root.
 */
export function versionProblems(files, version) {
  const names = new Set(files.map(({ manifest }) => manifest.name));
  return files.flatMap(({ path, manifest }) => {
    const wrong = manifest.version === version ? [] : [`${path}: version is ${manifest.version}, not ${version}`];
    for (const [name, range] of Object.entries(manifest.dependencies ?? {}))
      if (names.has(name) && range !== version) wrong.push(`${path}: depends on ${name} ${range}, not ${version}`);
    return wrong;
  });
}

/** @param {Manifest} manifest @param {ReadonlySet<string>} names Of all workspaces. */
export function withVersion(manifest, names, version) {
  return manifest.dependencies === undefined
    ? { ...manifest, version }
    : { ...manifest, version, dependencies: withDependencies(manifest.dependencies, names, version) };
}

/** The same of package-lock.json, which repeats the manifests of the workspaces under their paths. */
export function lockWithVersion(lock, paths, names, version) {
  const packages = { ...lock.packages };
  for (const path of ['', ...paths]) packages[path] = withVersion(packages[path], names, version);
  return { ...lock, version, packages };
}

function withDependencies(dependencies, names, version) {
  return Object.fromEntries(
    Object.entries(dependencies).map(([name, range]) => [name, names.has(name) ? version : range]),
  );
}
