/** The forms in which a WebSocket carries frames of durable streams. */
export const jsonSubprotocol = 'millrace.v1+json';
export const protoSubprotocol = 'millrace.v1+proto';

/** The first is spoken with clients that name none. */
export const streamSubprotocols = [jsonSubprotocol, protoSubprotocol] as const;
