/** The groups API's types, under the names used here. */
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type GroupRow = Schemas['GroupRow'];
export type GroupsPage = Schemas['Groups'];
export type WholeGroup = Schemas['Group'];
export type GroupMember = Schemas['GroupMember'];
export type GroupRequest = Schemas['GroupIn'];
