/** The portal's capabilities in this directory. Pure. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Capabilities = Schemas['CapabilitiesOut'];
export type Ability = Schemas['Ability'];

/** Return whether the portal can do this here. */
export const can = ({ missing }: Pick<Capabilities, 'missing'>, ability: Ability): boolean =>
  missing[ability] === undefined;
