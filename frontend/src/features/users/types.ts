/** The users API's types, under the names used here. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Role = Schemas['Role'];
export type UserRow = Schemas['UserRow'];
export type User = Schemas['UserOut'];
export type HomeRun = Schemas['HomeCommandRunOut'];
export type NewUser = Schemas['NewUserIn'];
export type OneTimePassword = Schemas['PasswordOut'];
export type UserImport = Schemas['UserImportOut'];
export type Check = Schemas['CheckOut'];
export type NewUserDefaults = Schemas['NewUserDefaults'];
export type ImportLine = Schemas['ImportLine'];
export type FirstPassword = Schemas['FirstPassword'];
