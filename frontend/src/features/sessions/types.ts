/** The API's types, under the names used here. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type SessionUsage = Schemas['SessionUseOut'];
export type Packages = Schemas['PackagesOut'];
export type Package = Schemas['PackageOut'];
