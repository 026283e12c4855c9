/** Versions of the project: MAJOR.MINOR.PATCH, and which one may follow which. RELEASING.md says what each step means. */

/** @typedef {readonly [major: number, minor: number, patch: number]} Version */

/** @returns {Version | undefined} Nothing for what is not three numbers without leading zeros: there are no pre-releases. */
export function takeVersion(text) {
  const parts = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text);
  return parts === null ? undefined : [Number(parts[1]), Number(parts[2]), Number(parts[3])];
}

/** @param {string} text @param {'major' | 'minor' | 'patch'} step */
export function versionAfter(text, step) {
  const [major, minor, patch] = mustVersion(text);
  if (step === 'major') return `${major + 1}.0.0`;
  if (step === 'minor') return `${major}.${minor + 1}.0`;
  return `${major}.${minor}.${patch + 1}`;
}

/**
 * What is to be released, or the reason why it cannot be.
 * @param {string | undefined} wanted A version, a step, or nothing for the version that the packages have.
 * @param {string} current The version that the packages have.
 * @param {readonly string[]} released From the changelog, the newest first.
 * @returns {{ version: string } | { problem: string }}
 */
export function versionToRelease(wanted, current, released) {
  const [last] = released;
  const isStep = wanted === 'major' || wanted === 'minor' || wanted === 'patch';
  if (isStep && last === undefined)
    return { problem: `nothing is released yet: name no step, ${current} is the first` };
  const version = isStep ? versionAfter(last, wanted) : (wanted ?? current);
  if (takeVersion(version) === undefined)
    return { problem: `'${version}' is not a version: give MAJOR.MINOR.PATCH, or patch, minor or major` };
  if (released.includes(version)) return { problem: `${version} is already released: give patch, minor or major` };
  if (last === undefined) return { version };
  const allowed = /** @type {const} */ (['patch', 'minor', 'major']).map((step) => versionAfter(last, step));
  if (!allowed.includes(version))
    return { problem: `${version} does not follow ${last}: the next version is ${allowed.join(', ')}` };
  return { version };
}

function mustVersion(text) {
  const version = takeVersion(text);
  if (version === undefined) throw new Error(`'${text}' is not MAJOR.MINOR.PATCH`);
  return version;
}
