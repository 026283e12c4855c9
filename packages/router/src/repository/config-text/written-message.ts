/** The type of a message as a configuration writes it, derived from the types that are generated of it. */
import type { Message } from '@bufbuild/protobuf';

/**
 * Fields have their original names, and what was not set is not there. Members of a oneof stand beside the other fields,
 * enumerations are names, and integers of 64 bits numbers where exact, else bigints. `Json` is the generated type of the
 * JSON form, which knows the names of enumerations; `Shape` that of the message, which tells integers from texts.
 */
export type WrittenMessage<Shape, Json> = {
  readonly [Name in keyof Json & string as SnakeCase<Name>]?: Written<
    NonNullable<MemberOf<Shape, Name>>,
    NonNullable<Json[Name]>
  >;
};

type Written<Value, Json> = [Value] extends [bigint]
  ? number | bigint
  : [Value] extends [string | boolean]
    ? Value
    : [Value] extends [number]
      ? EnumName<Value, Json>
      : [Value, Json] extends [readonly (infer Element)[], readonly (infer JsonElement)[]]
        ? readonly Written<Element, JsonElement>[]
        : [Value] extends [Message]
          ? WrittenMessage<Value, Json>
          : [Value, Json] extends [Record<string, infer Entry>, Record<string, infer JsonEntry>]
            ? { readonly [key: string]: Written<Entry, JsonEntry> }
            : never;

type EnumName<Value extends number, Json> = number extends Value ? number : Json;

type MemberOf<Shape, Name> = Name extends keyof Shape ? Shape[Name] : OneofMember<Shape[keyof Shape], Name>;

type OneofMember<Group, Name> = Group extends { readonly case: Name; readonly value: infer Value } ? Value : never;

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : '';
