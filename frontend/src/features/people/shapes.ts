/** What the API says of people, by the names these pages use. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Role = Schemas['Role'];
export type Capabilities = Schemas['CapabilitiesOut'];
export type Ability = Schemas['Ability'];
export type PersonRow = Schemas['PersonRow'];
export type Person = Schemas['Person'];
export type HomeRun = Schemas['HomeRunOut'];
export type NewPerson = Schemas['PersonIn'];
export type OneTimePassword = Schemas['PasswordOut'];
export type PeopleImport = Schemas['PeopleImportOut'];
export type ImportLine = Schemas['ImportLine'];
export type FirstPassword = Schemas['FirstPassword'];
