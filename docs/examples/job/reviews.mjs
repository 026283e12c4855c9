/** Reviews to judge, the same ones every time: in a program of your own, rows of a table or lines of a file. */
const things = ['film', 'hotel', 'meal', 'phone', 'book', 'game', 'concert'];
const opinions = ['lovely', 'terrible', 'wonderful', 'boring', 'brilliant', 'dull', 'charming', 'dreadful'];

export function* reviews(count) {
  for (let id = 1; id <= count; id++) {
    yield { id, text: `The ${things[id % things.length]} was ${opinions[id % opinions.length]}.` };
  }
}
