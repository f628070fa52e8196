import { createContext, useContext } from 'react';

/** Does an act; if the portal wants the password again first, asks for it and repeats the act.
 * Rejects with Cancelled when the dialog is closed. */
export type WithPassword = <T>(act: () => Promise<T>) => Promise<T>;

export const ReauthContext = createContext<WithPassword>((act) => act());

export const useWithPassword = (): WithPassword => useContext(ReauthContext);
