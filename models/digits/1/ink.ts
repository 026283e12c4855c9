/** Grey values from 0, paper, to 1, ink. */
export interface Ink {
  readonly values: Float32Array;
  readonly width: number;
  readonly height: number;
}

/** Less contrast than this is paper. */
const contrastMin = 0.2;
/** What counts as ink, of the darkest there is. */
const inkShare = 0.3;
/** The longer side of the ink in the framed picture, as `digits` was trained. */
const boxShare = 20 / 28;

/** The ink of a picture, cut to where it lies; undefined when there is none. The border is taken for paper. */
export function inkOf(grey: Float32Array, width: number, height: number): Ink | undefined {
  const paper = medianOfBorder(grey, width, height);
  const values = grey.map((value) => Math.abs(value - paper));
  const darkest = values.reduce((most, value) => Math.max(most, value), 0);
  if (darkest < contrastMin) return undefined;
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if ((values[y * width + x] as number) < inkShare * darkest) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
    }
  }
  const [cutWidth, cutHeight] = [right - left + 1, bottom - top + 1];
  const cut = new Float32Array(cutWidth * cutHeight);
  for (let y = 0; y < cutHeight; y++) {
    for (let x = 0; x < cutWidth; x++) {
      const value = (values[(top + y) * width + left + x] as number) / darkest;
      cut[y * cutWidth + x] = value < inkShare / 2 ? 0 : value;
    }
  }
  return { values: cut, width: cutWidth, height: cutHeight };
}

/** The ink in the middle of a square, each pixel the mean of what it covers. */
export function framed({ values, width, height }: Ink, side: number): Float32Array {
  const ratio = (boxShare * side) / Math.max(width, height);
  const [wide, high] = [width, height].map((size) => Math.max(1, Math.min(side, Math.round(size * ratio)))) as [
    number,
    number,
  ];
  const [left, top] = [Math.floor((side - wide) / 2), Math.floor((side - high) / 2)];
  const square = new Float32Array(side * side);
  for (let y = 0; y < high; y++) {
    const [fromY, toY] = span(y, high, height);
    for (let x = 0; x < wide; x++) {
      const [fromX, toX] = span(x, wide, width);
      let sum = 0;
      for (let row = fromY; row < toY; row++) {
        for (let column = fromX; column < toX; column++) sum += values[row * width + column] as number;
      }
      square[(top + y) * side + left + x] = sum / ((toY - fromY) * (toX - fromX));
    }
  }
  return square;
}

/** The pixels that one of `count` covers, at least one. */
function span(index: number, count: number, size: number): readonly [from: number, to: number] {
  const from = Math.min(size - 1, Math.floor((index * size) / count));
  return [from, Math.max(from + 1, Math.floor(((index + 1) * size) / count))];
}

function medianOfBorder(grey: Float32Array, width: number, height: number): number {
  const border: number[] = [];
  for (let x = 0; x < width; x++) border.push(grey[x] as number, grey[(height - 1) * width + x] as number);
  for (let y = 0; y < height; y++) border.push(grey[y * width] as number, grey[(y + 1) * width - 1] as number);
  border.sort((a, b) => a - b);
  return border[Math.floor(border.length / 2)] as number;
}
