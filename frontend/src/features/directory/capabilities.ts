/** What the portal can change in this directory. Pure. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Capabilities = Schemas['CapabilitiesOut'];
export type Ability = Schemas['Ability'];

/** Whether the portal can do it here. */
export const can = ({ missing }: Pick<Capabilities, 'missing'>, ability: Ability): boolean =>
  missing[ability] === undefined;
