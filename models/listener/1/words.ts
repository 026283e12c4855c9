/** From probabilities a frame to words; the same rule as in zoo/listener/decode.py. */
export interface Word {
  readonly label: number;
  readonly probability: number;
  readonly frame: number;
}

const averagedFrames = 5;
const callAbove = 0.5;
const restFrames = 22;

/**
 * A word is reported when its probability, averaged over the last five frames, is above one half; then nothing is for 440 ms, so
 * that one word is reported once. Label 0 is silence or any other word.
 */
export function wordsFrom(frames: readonly Float32Array[]): readonly Word[] {
  const words: Word[] = [];
  let restUntil = averagedFrames;
  for (let frame = 0; frame < frames.length; frame++) {
    if (frame < restUntil) continue;
    const last = frames.slice(frame - averagedFrames + 1, frame + 1);
    const means = Array.from(frames[frame] as Float32Array, (_, label) => meanOf(last, label));
    means[0] = 0;
    const probability = Math.max(...means);
    if (probability <= callAbove) continue;
    words.push({ label: means.indexOf(probability), probability, frame });
    restUntil = frame + restFrames;
  }
  return words;
}

function meanOf(frames: readonly Float32Array[], label: number): number {
  return frames.reduce((sum, values) => sum + (values[label] as number), 0) / frames.length;
}
