import type { JsonObject } from '@millrace/protocol';
import type { Paint } from '../../terminal.ts';
import type { FlagValues } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import type { ArgumentReader } from './argument-reader.ts';
import type { ManagementCall } from './management-client.ts';

/** The calls of a command and how to format their answers. The answers of several calls are members of one object. */
export interface Plan {
  /** Asked first; the notice tells what the calls will wait for. */
  readonly first?: { readonly call: ManagementCall; notice(answer: JsonObject): string | undefined };
  readonly calls: Readonly<Record<string, ManagementCall>>;
  text(answers: Readonly<Record<string, JsonObject>>, paint: Paint): string;
}

export type MakePlan = (args: ArgumentReader, flags: FlagValues, parts: CommandEnvironment) => Plan;
