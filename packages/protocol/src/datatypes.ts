/** The datatypes of the Open Inference Protocol, as its clients name them on the wire. */
export const datatypes = {
  BOOL: { bytes: 1, configName: 'TYPE_BOOL' },
  UINT8: { bytes: 1, configName: 'TYPE_UINT8' },
  UINT16: { bytes: 2, configName: 'TYPE_UINT16' },
  UINT32: { bytes: 4, configName: 'TYPE_UINT32' },
  UINT64: { bytes: 8, configName: 'TYPE_UINT64' },
  INT8: { bytes: 1, configName: 'TYPE_INT8' },
  INT16: { bytes: 2, configName: 'TYPE_INT16' },
  INT32: { bytes: 4, configName: 'TYPE_INT32' },
  INT64: { bytes: 8, configName: 'TYPE_INT64' },
  FP16: { bytes: 2, configName: 'TYPE_FP16' },
  BF16: { bytes: 2, configName: 'TYPE_BF16' },
  FP32: { bytes: 4, configName: 'TYPE_FP32' },
  FP64: { bytes: 8, configName: 'TYPE_FP64' },
  /** Elements of any length: each is a 32-bit little-endian length and its bytes. */
  BYTES: { bytes: undefined, configName: 'TYPE_STRING' },
} as const satisfies Record<string, { bytes: number | undefined; configName: string }>;

export type Datatype = keyof typeof datatypes;

/** The datatypes whose elements all take the same number of bytes. */
export type FixedSizeDatatype = Exclude<Datatype, 'BYTES'>;

export function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(datatypes, name);
}

/** The datatype with this `TYPE_…` name in a model configuration. */
export function takeDatatypeOfConfig(configName: string): Datatype | undefined {
  return datatypeByConfigName.get(configName);
}

const datatypeByConfigName = new Map<string, Datatype>(
  (Object.keys(datatypes) as Datatype[]).map((name) => [datatypes[name].configName, name]),
);
