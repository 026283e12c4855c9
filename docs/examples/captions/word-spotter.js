/** From probabilities, 50 times a second, to words: the rule that the model was evaluated with. */
const averagedFrames = 5;
const callAbove = 0.5;
/** 440 ms, so that a word is called once. */
const restFrames = 22;

export class WordSpotter {
  #last = [];
  #rest = 0;

  /** The label of a word that was just said, or nothing. Label 0 is none. */
  push(probabilities) {
    // A copy: the array belongs to the message that it came with.
    this.#last = [...this.#last, Array.from(probabilities)].slice(-averagedFrames);
    if (this.#rest > 0) this.#rest -= 1;
    if (this.#rest > 0 || this.#last.length < averagedFrames) return undefined;
    const sums = this.#last[0].map((_, label) => this.#last.reduce((sum, frame) => sum + frame[label], 0));
    sums[0] = 0;
    const most = Math.max(...sums);
    if (most / averagedFrames <= callAbove) return undefined;
    this.#rest = restFrames;
    return sums.indexOf(most);
  }
}
