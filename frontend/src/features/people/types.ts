/** What the API says of people, by the names these pages use. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Role = Schemas['Role'];
export type PersonRow = Schemas['PersonRow'];
export type Person = Schemas['Person'];
export type HomeRun = Schemas['HomeRunOut'];
export type NewPerson = Schemas['PersonIn'];
export type OneTimePassword = Schemas['PasswordOut'];
export type PeopleImport = Schemas['PeopleImportOut'];
export type Check = Schemas['CheckOut'];
export type NewUserDefaults = Schemas['NewUserDefaults'];
export type ImportLine = Schemas['ImportLine'];
export type FirstPassword = Schemas['FirstPassword'];
