import type { Connector } from '../contract/connector.ts';

/** A union over `provider` and `kind`. Without signal schemas: any kind and payload. */
export type TypedSignal<C extends Connector, Base> = [C] extends [never]
  ? Base
  : C extends Connector<infer Provider, unknown, infer Payloads>
    ? string extends keyof Payloads
      ? WithProvider<Base, Provider>
      : {
          [Kind in keyof Payloads & string]: Base & Typed<Provider, Kind, Stored<Payloads[Kind]>>;
        }[keyof Payloads & string]
    : never;

type WithProvider<Base, Provider> = string extends Provider ? Base : Base & { provider: Provider };

interface Typed<Provider, Kind, Payload> {
  provider: Provider;
  kind: Kind;
  payload: Payload;
}

/** As JSON: a Date is text. */
type Stored<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer Written }
    ? Stored<Written>
    : T extends object
      ? { [Key in keyof T]: Stored<T[Key]> }
      : T;
