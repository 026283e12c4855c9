/** What reading and formatting need to know of a protobuf message, taken from its descriptor. */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

export type IntegerKind = 'int32' | 'uint32' | 'int64' | 'uint64';
export type ScalarKind = 'string' | 'bool' | 'float' | 'double' | IntegerKind;

export interface ScalarField {
  readonly kind: ScalarKind;
}
export interface EnumField {
  readonly kind: 'enum';
  /** Position is the number; position 0 is the default. */
  readonly names: readonly string[];
}
export interface MessageField {
  readonly kind: 'message';
  readonly message: MessageSchema;
  /** At most one member of a choice may be set. */
  readonly choice?: string;
}
export interface ListField {
  readonly kind: 'list';
  readonly element: ElementField;
}
export interface MapField {
  readonly kind: 'map';
  readonly key: 'string' | 'uint64';
  readonly value: ElementField;
}
/** A scalar that is one of a choice: unlike other scalars it is absent unless set. */
export interface ChoiceField {
  readonly kind: 'choice-scalar';
  readonly scalar: ScalarKind;
  readonly choice: string;
}

export type ElementField = ScalarField | EnumField | MessageField;
export type SchemaField = ElementField | ListField | MapField | ChoiceField;
/** Fields by their original names, in the order of their declaration. */
export interface MessageSchema {
  readonly [field: string]: SchemaField;
}

/** Throws for field kinds that no configuration uses yet. */
export function schemaFrom(descriptor: DescMessage): MessageSchema {
  return Object.fromEntries(descriptor.fields.map((field) => [field.name, fieldFrom(field)]));
}

function fieldFrom(field: DescField): SchemaField {
  const choice = field.oneof?.name;
  switch (field.fieldKind) {
    case 'list':
      return { kind: 'list', element: elementFrom(field) };
    case 'map':
      return { kind: 'map', key: keyFrom(field.mapKey), value: elementFrom(field) };
    case 'message':
      return { kind: 'message', message: schemaFrom(field.message), ...(choice !== undefined && { choice }) };
    case 'scalar': {
      const kind = scalarFrom(field.scalar);
      return choice === undefined ? { kind } : { kind: 'choice-scalar', scalar: kind, choice };
    }
    case 'enum':
      if (choice !== undefined) throw new Error(`${field.toString()}: an enumeration in a oneof cannot be read yet`);
      return { kind: 'enum', names: namesFrom(field.enum) };
  }
}

type ElementDescriptor = Pick<DescField & { fieldKind: 'list' | 'map' }, 'scalar' | 'enum' | 'message'>;

function elementFrom({ scalar, enum: names, message }: ElementDescriptor): ElementField {
  if (message !== undefined) return { kind: 'message', message: schemaFrom(message) };
  if (names !== undefined) return { kind: 'enum', names: namesFrom(names) };
  return { kind: scalarFrom(scalar) };
}

function namesFrom({ values, typeName }: DescEnum): readonly string[] {
  return values.map(({ name, number }, position) => {
    if (number !== position)
      throw new Error(`enum ${typeName}: value ${name} has number ${number}, expected ${position}`);
    return name;
  });
}

function keyFrom(scalar: ScalarType): MapField['key'] {
  const kind = scalarFrom(scalar);
  if (kind !== 'string' && kind !== 'uint64') throw new Error(`a map with keys of ${kind} cannot be read yet`);
  return kind;
}

const scalarKinds: ReadonlyMap<ScalarType | undefined, ScalarKind> = new Map([
  [ScalarType.STRING, 'string'],
  [ScalarType.BOOL, 'bool'],
  [ScalarType.FLOAT, 'float'],
  [ScalarType.DOUBLE, 'double'],
  [ScalarType.INT32, 'int32'],
  [ScalarType.UINT32, 'uint32'],
  [ScalarType.INT64, 'int64'],
  [ScalarType.UINT64, 'uint64'],
]);

function scalarFrom(scalar: ScalarType | undefined): ScalarKind {
  const kind = scalarKinds.get(scalar);
  if (kind === undefined) throw new Error(`a scalar of type ${scalar} cannot be read yet`);
  return kind;
}
