import type { StreamPin } from '@millrace/router/internal';

/** The same pin with some of its parts replaced; what it is made of later has them too. */
export function bentPin<Pin extends StreamPin>(pin: Pin, changes: Partial<Pick<StreamPin, 'digest' | 'release'>>): Pin {
  const copy = Object.create(Object.getPrototypeOf(pin)) as Pin;
  return Object.assign(copy, pin, changes);
}
