/** What a chaos proxy does to the connections that pass through it. */

export const chaosKinds = ['cut', 'reset', 'half-close', 'black-hole', 'delay', 'limit'] as const;

export type Fault =
  /** Both sides of every connection are closed. */
  | { readonly kind: 'cut' }
  /** Both sides of every connection are reset (RST). */
  | { readonly kind: 'reset' }
  /** This side of every connection hears that the other has finished, and nothing more; what it sends still passes. */
  | { readonly kind: 'half-close'; readonly side: 'client' | 'server' }
  /**
   * Connections stay open and nothing passes. With `forMs` it is an outage of everything, new connections included, and
   * all bytes pass afterwards; without it the connections of now are lost for good, and new ones pass.
   */
  | { readonly kind: 'black-hole'; readonly forMs: number | undefined }
  /** Bytes come later, on new connections too: by `delayMs` and up to `jitterMs` more. `forMs` undefined: until healed. */
  | { readonly kind: 'delay'; readonly delayMs: number; readonly jitterMs: number; readonly forMs: number | undefined }
  /** Each direction of each connection passes at most so many bytes a second, on new connections too. */
  | { readonly kind: 'limit'; readonly bytesPerSecond: number; readonly forMs: number | undefined }
  /** No delay, no limit and no outage any more. */
  | { readonly kind: 'heal' };
