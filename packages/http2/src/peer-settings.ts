import {
  errorCode,
  frameBytesDefault,
  frameBytesLimit,
  type Http2ErrorCode,
  readUint32BigEndian,
  settingId,
  windowBytesDefault,
  windowBytesMax,
} from './frames.ts';

/** Most settings in one frame; RFC 9113 defines six, and repeating them is legal but pointless. */
const settingsPerFrameMax = 64;

/** The limits that the other end announced. */
export class PeerSettings {
  headerTableBytes = 4096;
  windowBytes = windowBytesDefault;
  frameBytesMax = frameBytesDefault;
  /** Of interest to clients only. */
  streamsMax = Number.POSITIVE_INFINITY;

  /** Applies the payload of a SETTINGS frame in order; returns the error code, `noError` when it is valid. */
  apply(bytes: Uint8Array, start: number, end: number): Http2ErrorCode {
    if ((end - start) % 6 !== 0) return errorCode.frameSizeError;
    if ((end - start) / 6 > settingsPerFrameMax) return errorCode.enhanceYourCalm;
    for (let at = start; at < end; at += 6) {
      const id = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
      const value = readUint32BigEndian(bytes, at + 2);
      if (id === settingId.headerTableSize) this.headerTableBytes = value;
      else if (id === settingId.maxConcurrentStreams) this.streamsMax = value;
      else if (id === settingId.enablePush && value > 1) return errorCode.protocolError;
      else if (id === settingId.initialWindowSize) {
        if (value > windowBytesMax) return errorCode.flowControlError;
        this.windowBytes = value;
      } else if (id === settingId.maxFrameSize) {
        if (value < frameBytesDefault || value > frameBytesLimit) return errorCode.protocolError;
        this.frameBytesMax = value;
      }
    }
    return errorCode.noError;
  }
}
