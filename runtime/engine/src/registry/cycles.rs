//! Agents that can reach themselves through the agents they may call.

use std::collections::HashMap;

use roster_model::id::AgentId;

use super::prepare::Candidate;
use crate::definition::Problem;

/// A warning for each agent that can reach itself: the depth limit ends such calls, but somebody should look. One walk
/// over all calls (Tarjan's strongly connected components), however many agents there are.
pub(super) fn cycles(candidates: &[Candidate]) -> HashMap<AgentId, Problem> {
    let at: HashMap<&AgentId, usize> =
        candidates.iter().enumerate().map(|(number, candidate)| (&candidate.id, number)).collect();
    let calls: Vec<Vec<usize>> = candidates
        .iter()
        .map(|candidate| {
            let agents = candidate.definition.iter().flat_map(|definition| definition.callees());
            agents.filter_map(|id| at.get(id).copied()).collect()
        })
        .collect();
    let component = components(&calls);
    let mut found = HashMap::new();
    for (number, candidate) in candidates.iter().enumerate() {
        let Some(definition) = &candidate.definition else { continue };
        let returns = |id: &AgentId| at.get(id).is_some_and(|to| component[*to] == component[number]);
        if let Some((place, via)) = definition.callees().enumerate().find(|(_, id)| returns(id)) {
            found.insert(candidate.id.clone(), warning(candidate, via, place));
        }
    }
    found
}

fn warning(candidate: &Candidate, via: &AgentId, place: usize) -> Problem {
    let id = &candidate.id;
    let message = if via == id {
        format!("agent `{id}` may call itself")
    } else {
        format!("agent `{id}` calls `{via}`, which can call `{id}` again")
    };
    let span = candidate.positions.callees().nth(place).cloned();
    let help = "an agent already at work on a request is not asked again by it; the model is told so";
    candidate.positions.warning("agent_cycle", span, message).of(id.as_str()).help(help)
}

/// The strongly connected component of each node, without recursion (a chain of agents may be long). A node alone that
/// calls itself shares its component with itself, so the test above finds it too.
fn components(calls: &[Vec<usize>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let count = calls.len();
    let (mut index, mut low) = (vec![UNSEEN; count], vec![0; count]);
    let mut component = vec![UNSEEN; count];
    let (mut next, mut stack) = (0, Vec::new());
    for root in 0..count {
        if index[root] != UNSEEN {
            continue;
        }
        let mut walk = vec![(root, 0)];
        while let Some((node, edge)) = walk.pop() {
            if edge == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
            }
            if let Some(&to) = calls[node].get(edge) {
                walk.push((node, edge + 1));
                if index[to] == UNSEEN {
                    walk.push((to, 0));
                } else if component[to] == UNSEEN {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            if low[node] == index[node] {
                while let Some(member) = stack.pop() {
                    component[member] = node;
                    if member == node {
                        break;
                    }
                }
            }
            if let Some((parent, _)) = walk.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(calls: &[&[usize]], pairs: &[(usize, usize)], apart: &[(usize, usize)]) {
        let found = components(&calls.iter().map(|to| to.to_vec()).collect::<Vec<_>>());
        for (a, b) in pairs {
            assert_eq!(found[*a], found[*b], "{a} and {b} reach each other in {calls:?}");
        }
        for (a, b) in apart {
            assert_ne!(found[*a], found[*b], "{a} and {b} do not reach each other in {calls:?}");
        }
    }

    #[test]
    fn rings_chains_and_knots() {
        same(&[&[1], &[2], &[0]], &[(0, 1), (1, 2)], &[]);
        same(&[&[1], &[2], &[]], &[], &[(0, 1), (1, 2)]);
        same(&[&[1, 3], &[2], &[1], &[4], &[3, 0]], &[(1, 2), (0, 4), (3, 4)], &[(0, 1)]);
    }

    #[test]
    fn a_long_ring_needs_no_deep_stack() {
        let ring: Vec<Vec<usize>> = (0..50_000).map(|n| vec![(n + 1) % 50_000]).collect();
        let found = components(&ring);
        assert!(found.iter().all(|component| *component == found[0]));
    }
}
